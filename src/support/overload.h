// Several lambdas as one visitor: std::visit(Overload{[](int) {...}, [](auto&) {...}}, variant).
#pragma once

namespace tilecast {

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

}  // namespace tilecast
