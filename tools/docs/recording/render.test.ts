import { expect, test } from 'vitest'
import { renderRecording } from './render.ts'

const line = (text: string, at: number, isCommand = false) => ({ text, at, isCommand })

test('a recording shows each line from its time on, and does not move with reduced motion', () => {
  const svg = renderRecording('A run', [
    line('npx postern <dev>', 0, true),
    line('ready', 2_000),
    line('█ pass', 4_000),
  ])
  expect(svg).toContain('npx postern &lt;dev>')
  // The last frame stays for six seconds, so the loop takes ten.
  expect(svg).toContain(
    '@keyframes t1{0%,20%{opacity:0}20.01%,100%{opacity:1}}.t1{animation:t1 10000ms step-end infinite}',
  )
  expect(svg).toContain('<tspan class="bar">█</tspan> <tspan class="good">pass</tspan>')
  expect(svg.replace(/@media \(prefers-reduced-motion:no-preference\).*\n/, '')).not.toContain('animation')
})

test('the renderer scrolls more lines than the screen has, and truncates a long line', () => {
  const svg = renderRecording(
    'A run',
    Array.from({ length: 30 }, (_, index) => line('x'.repeat(120), index * 100)),
  )
  expect(svg).toContain('#lines{transform:translateY(-76px)}')
  expect(svg).toContain(`>${'x'.repeat(99)}…<`)
})
