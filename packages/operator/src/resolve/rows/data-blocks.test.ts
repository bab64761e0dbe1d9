import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { listDataBlocks } from './data-blocks.ts'

test('listDataBlocks() returns the JSON-LD of a page, without other scripts', () => {
  const page = `<p>a</p><script>let a = '<script type="application/ld+json">'</script>
    <script id=a type="application/ld+json" nonce=b>{"a":1}</script><SCRIPT TYPE=application/ld+json>{"b":2}</SCRIPT>`
  expect(listDataBlocks(page)).toEqual(['{"a":1}', '{"b":2}'])
})

test('listDataBlocks() stops after 16 blocks', () => {
  expect(listDataBlocks('<script type=application/ld+json>1</script>'.repeat(40))).toHaveLength(16)
})

test.each([
  '<script',
  '<script ',
  '<script type=application/ld+json>',
  '<script>',
  '</script',
  ' type=',
  '<script type= ',
])('listDataBlocks() takes linear time for a page of many "%s"', chunk =>
  expect(measureGrowth(listDataBlocks, chunk, 400_000)).toBeLessThan(24),
)
