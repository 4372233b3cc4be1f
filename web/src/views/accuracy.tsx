export function Accuracy() {
  return <p>Accuracy</p>;
}
