import { expect, test } from 'vitest'
import { countVisible } from './visible-length.ts'

test('countVisible() stops reading a long text at its limit', () => {
  const html = '<p>word word word word</p>'.repeat(40_000)
  expect(countVisible('<p>one</p><p>two</p>', 7)).toBe(8)
  const usageBefore = process.threadCpuUsage()
  for (let repetition = 0; repetition < 200; repetition += 1) expect(countVisible(html, 500)).toBeGreaterThan(500)
  expect(process.threadCpuUsage(usageBefore).user).toBeLessThan(1_000_000)
})
