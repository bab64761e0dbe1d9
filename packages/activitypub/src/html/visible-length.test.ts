import { expect, test } from 'vitest'
import { countVisible } from './visible-length.ts'

test('countVisible() stops reading a long text at its limit', () => {
  const html = '<p>word word word word</p>'.repeat(40_000)
  expect(countVisible('<p>one</p><p>two</p>', 7)).toBe(8)
  const began = process.threadCpuUsage()
  for (let at = 0; at < 200; at += 1) expect(countVisible(html, 500)).toBeGreaterThan(500)
  expect(process.threadCpuUsage(began).user).toBeLessThan(1_000_000)
})
