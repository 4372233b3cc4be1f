export function Serve() {
  return <p>Serve</p>;
}
