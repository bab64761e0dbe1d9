import type { Part } from '@postern/message'
import { expect, test } from 'vitest'
import { splitParts } from '../split/split-parts.ts'
import { countPieces } from './pieces.ts'

const shortTexts: readonly Part[] = [
  { kind: 'text', mime: 'text/markdown', content: '- http://a\n- http://b\n\n> http://c\n\n1. *d*\n2. `http://e`' },
  { kind: 'text', mime: 'text/html', content: '<p>ht<b>tp</b>://a <i>http</i>://b</p><ul><li>http&#58;//c<li>d</ul>' },
  { kind: 'text', mime: 'text/plain', content: 'http://a\nhttp://b http://c\n\n@one@good.test & <you>' },
  { kind: 'link', url: 'http://a', title: 'http://b' },
  { kind: 'text', mime: 'text/markdown', content: '- a\n'.repeat(30) },
]

test.each(shortTexts.map((_, at) => shortTexts.slice(at)))(
  'countPieces() returns the number of pieces that splitParts() makes, at every limit: %j',
  (...parts) => {
    const limits = Array.from({ length: 300 }, (_, at) => at + 40)
    const wrongLimits = limits.filter(limit => countPieces(parts, limit) !== splitParts(parts, limit).length)
    expect(wrongLimits).toEqual([])
  },
)
