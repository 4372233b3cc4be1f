export function Diagnose() {
  return <p>Diagnose</p>;
}
