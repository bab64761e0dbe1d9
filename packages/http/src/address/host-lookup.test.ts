import type { Socket } from 'node:dgram'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPublicLookup } from './host-lookup.ts'

/** Answers A with 192.0.2.1, AAAA of `both.test` with 2001:db8::1, and never a name under `slow.test`. */
let server: Socket

beforeAll(async () => {
  server = createSocket('udp4', (query, { port, address }) => {
    const name = readName(query)
    if (!name.endsWith('slow.test')) server.send(composeAnswer(query, name), port, address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => server.close())

function readName(query: Buffer): string {
  const labels: string[] = []
  for (let position = 12; query[position]; position += (query[position] ?? 0) + 1) {
    labels.push(query.toString('latin1', position + 1, position + 1 + (query[position] ?? 0)))
  }
  return labels.join('.')
}

function composeAnswer(query: Buffer, name: string): Buffer {
  const end = 12 + name.length + 2 + 4
  const isIPv6 = query.readUInt16BE(end - 4) === 28
  const address = isIPv6 ? (name === 'both.test' ? '20010db8000000000000000000000001' : '') : 'c0000201'
  const head = Buffer.from(query.subarray(0, end))
  head.writeUInt16BE(name === 'none.test' ? 0x8183 : 0x8180, 2)
  head.writeUInt16BE(address && name !== 'none.test' ? 1 : 0, 6)
  head.writeUInt32BE(0, 8)
  if (!address || name === 'none.test') return head
  const record = Buffer.from([0xc0, 12, 0, isIPv6 ? 28 : 1, 0, 1, 0, 0, 0, 60, 0, address.length / 2])
  return Buffer.concat([head, record, Buffer.from(address, 'hex')])
}

const openLookup = () => createPublicLookup([`127.0.0.1:${server.address().port}`])

test('the lookup returns the addresses of both families', async () => {
  expect(await openLookup()('both.test')).toEqual(['192.0.2.1', '2001:db8::1'])
  expect(await openLookup()('one.test')).toEqual(['192.0.2.1'])
})

test('the lookup rejects for an unknown name', async () => {
  await expect(openLookup()('none.test')).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

test('the lookup of names with silent servers does not delay others', async () => {
  const lookup = openLookup()
  let isOver = false
  const slow = Promise.allSettled(Array.from({ length: 64 }, (_, at) => lookup(`${at}.slow.test`)))
  void slow.then(() => {
    isOver = true
  })
  expect(await lookup('quick.test')).toEqual(['192.0.2.1'])
  expect(isOver).toBe(false)
})
