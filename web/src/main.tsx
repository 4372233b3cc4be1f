// The shell: header, navigation, theme, and the view that the link names.
import './page.css';
import { Component, type ComponentChildren, type ComponentType, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hashOf, placeOf } from './link';
import { lastQuery, useHash } from './state';
import { Accuracy } from './views/accuracy';
import { Compare } from './views/compare';
import { Diagnose } from './views/diagnose';
import { Forecast } from './views/forecast';
import { Kernel } from './views/kernel';
import { Serve } from './views/serve';
import { Train } from './views/train';

interface View {
  id: string;
  title: string;
  about: string;
  show: ComponentType;
}

const views: View[] = [
  { id: 'forecast', title: 'Forecast', about: 'A model’s step on one card or many', show: Forecast },
  { id: 'compare', title: 'Compare', about: 'Cards by time, throughput, cost and energy', show: Compare },
  { id: 'kernel', title: 'Kernel', about: 'One kernel against its roofline', show: Kernel },
  { id: 'serve', title: 'Serve', about: 'Latency under load, and the best deployment', show: Serve },
  { id: 'train', title: 'Train', about: 'How to spread a training over GPUs', show: Train },
  { id: 'diagnose', title: 'Diagnose', about: 'A profiler’s trace beside its forecast', show: Diagnose },
  { id: 'accuracy', title: 'Accuracy', about: 'How good forecasts are, by card and family', show: Accuracy },
];

type Theme = 'auto' | 'light' | 'dark';
const themeKey = 'tilecast-theme';

function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>((localStorage.getItem(themeKey) as Theme | null) ?? 'auto');
  useEffect(() => {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem(themeKey, theme);
  }, [theme]);
  return (
    <label class="theme">
      <span class="hidden">Colours</span>
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
        <option value="auto">system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

// A view that fails must not take the others with it.
class Guard extends Component<{ children: ComponentChildren }, { problem?: Error }> {
  static override getDerivedStateFromError(problem: Error) {
    return { problem };
  }
  override render() {
    if (!this.state.problem) return this.props.children;
    console.error(this.state.problem);
    return (
      <div class="error" role="alert">
        <strong>This view failed: {this.state.problem.message}</strong>
        <p>Another setting, or the view from its menu entry, starts afresh.</p>
      </div>
    );
  }
}

// To another view as it was left; the link of the one that is shown starts it afresh.
function goBackTo(event: MouseEvent, to: View, from: View) {
  const query = lastQuery(to.id);
  if (to === from || query === '' || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  location.hash = hashOf({ view: to.id, query });
}

function Page() {
  const place = placeOf(useHash());
  const view = views.find((one) => one.id === place.view) ?? views[0]!;
  const main = useRef<HTMLElement>(null);
  const shown = useRef(view.id);
  useEffect(() => {
    document.title = `${view.title} – Tilecast`;
    // A keyboard or a screen reader goes on in what was asked for; not on the first view, which opens by itself.
    if (shown.current !== view.id) main.current?.focus();
    shown.current = view.id;
  }, [view.id]);
  const Shown = view.show;
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the view
      </a>
      <header class="top">
        <a class="brand" href="#/forecast">
          Tilecast
        </a>
        <nav aria-label="Views">
          {views.map((one) => (
            <a href={`#/${one.id}`} aria-current={one === view ? 'page' : undefined} onClick={(event) => goBackTo(event, one, view)}>
              {one.title}
            </a>
          ))}
        </nav>
        <ThemeSwitch />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <h1>
          {view.title} <small>{view.about}</small>
        </h1>
        <Guard key={view.id}>
          <Shown />
        </Guard>
      </main>
    </>
  );
}

render(<Page />, document.getElementById('page')!);
