export function Forecast() {
  return <p>Forecast</p>;
}
