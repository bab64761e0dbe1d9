import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashPrefixes } from './prefix-hashes.ts'

test('the hashes of several lengths equal those of each length alone', () => {
  const octets = Buffer.from('The first line.\r\nThe second.\r\n')
  for (const lengths of [[octets.length, 0, 5, 17, 5], [7, 7], [octets.length]]) {
    const singleHashes = new Map(
      lengths.map(length => [length, createHash('sha256').update(octets.subarray(0, length)).digest('base64')]),
    )
    expect(hashPrefixes(octets, lengths)).toEqual(singleHashes)
  }
})
