// Charts and tables as files: CSV, SVG with its colours written in, PNG drawn from that.

export function download(name: string, media: string, content: BlobPart): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type: media }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function downloadBase64(name: string, media: string, base64: string): void {
  download(name, media, Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
}

const drawn = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'opacity', 'font-family',
  'font-size', 'font-weight', 'text-anchor', 'display'];

// The drawing as it looks here, independent of the page's style sheet.
export function svgText(chart: SVGSVGElement, title: string): string {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const originals = [chart, ...chart.querySelectorAll('*')], copies = [copy, ...copy.querySelectorAll('*')];
  copies.forEach((element, i) => {
    const style = getComputedStyle(originals[i]!);
    for (const property of drawn) {
      const value = style.getPropertyValue(property);
      if (value) element.setAttribute(property, value);
    }
    for (const name of [...element.getAttributeNames()])
      if (/^(class|style|tabindex|role|aria-.*|data-.*)$/.test(name)) element.removeAttribute(name);
  });
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('viewBox', `0 0 ${chart.clientWidth} ${chart.clientHeight}`);
  const paper = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  paper.setAttribute('width', '100%');
  paper.setAttribute('height', '100%');
  paper.setAttribute('fill', getComputedStyle(document.body).backgroundColor);
  copy.prepend(paper);
  const name = document.createElementNS('http://www.w3.org/2000/svg', 'title');
  name.textContent = title;
  copy.prepend(name);
  return new XMLSerializer().serializeToString(copy);
}

export async function pngOf(svg: string, width: number, height: number, scale = 2): Promise<Blob> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const canvas = document.createElement('canvas');
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.getContext('2d')!.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png'));
}
