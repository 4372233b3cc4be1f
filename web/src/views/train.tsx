export function Train() {
  return <p>Train</p>;
}
