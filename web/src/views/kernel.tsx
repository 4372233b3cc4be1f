export function Kernel() {
  return <p>Kernel</p>;
}
