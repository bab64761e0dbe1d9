// Renders the lines of a terminal session as an animated SVG.
/** A line of a terminal, and the time of its appearance. */
export interface TerminalLine {
  readonly text: string
  readonly isCommand: boolean
  /** The time since the start of the recording, ms. */
  readonly at: number
}

const columns = 100
const rows = 26
const lineHeight = 19
const margin = 16
/** The time for which the last frame stays before the recording restarts, ms. */
const restMs = 6_000
const width = Math.ceil(columns * 7.85) + 2 * margin
const height = rows * lineHeight + 2 * margin

/** Renders an SVG that shows the lines one after the other, in a loop. Readers who prefer reduced motion see the last frame. */
export function renderRecording(title: string, lines: readonly TerminalLine[]): string {
  const total = (lines.at(-1)?.at ?? 0) + restMs
  const percent = (time: number) => Number(((100 * time) / total).toFixed(3))
  const offset = (count: number) => -Math.max(0, count - rows) * lineHeight
  const times = [...new Set(lines.map(({ at }) => at))]
  const classOf = (time: number) => `t${times.indexOf(time)}`
  const shows = times.map(time => {
    const startPercent = percent(time)
    const name = classOf(time)
    const hiddenFrame = startPercent === 0 ? '' : `0%,${startPercent}%{opacity:0}`
    return `@keyframes ${name}{${hiddenFrame}${Number((startPercent + 0.01).toFixed(3))}%,100%{opacity:1}}.${name}{animation:${name} ${total}ms step-end infinite}`
  })
  const scrolls = times.map(time => {
    const count = lines.filter(line => line.at <= time).length
    return `${percent(time)}%{transform:translateY(${offset(count)}px)}`
  })
  const finalTransform = `transform:translateY(${offset(lines.length)}px)`
  const style = [
    `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d1d7e0;white-space:pre}`,
    '.prompt{fill:#57ab5a}.command{fill:#fff;font-weight:600}.good{fill:#6bc46d}.bar{fill:#539bf5}.note{fill:#9198a1}',
    `#lines{${finalTransform}}`,
    `@media (prefers-reduced-motion:no-preference){${shows.join('')}@keyframes scroll{${scrolls.join('')}100%{${finalTransform}}}#lines{animation:scroll ${total}ms step-end infinite}}`,
  ].join('\n')
  const texts = lines.map(
    (line, index) =>
      `<text class="${classOf(line.at)}" x="${margin}" y="${margin + (index + 1) * lineHeight - 5}">${renderLine(line)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
<title id="title">${escapeXml(title)}</title>
<style>
${style}
</style>
<clipPath id="screen"><rect width="${width}" height="${height - margin / 2}" y="${margin / 4}"/></clipPath>
<rect width="${width}" height="${height}" rx="8" fill="#151b23" stroke="#3d444d"/>
<g clip-path="url(#screen)"><g id="lines">
${texts.join('\n')}
</g></g>
</svg>
`
}

function renderLine({ text, isCommand }: TerminalLine): string {
  const shownText = text.length > columns ? `${text.slice(0, columns - 1)}…` : text
  if (isCommand && shownText.startsWith('#')) return `<tspan class="note">${escapeXml(shownText)}</tspan>`
  if (isCommand) return `<tspan class="prompt">$ </tspan><tspan class="command">${escapeXml(shownText)}</tspan>`
  return escapeXml(shownText)
    .replace(/█+/g, '<tspan class="bar">$&</tspan>')
    .replace(/\b(?:pass|verified|answered|sent, 202 Accepted)\b/g, '<tspan class="good">$&</tspan>')
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
