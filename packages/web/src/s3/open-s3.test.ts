import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGuardedFetch } from '@postern/http'
import { Unavailable } from '@postern/message'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openS3Bytes, signS3Request } from './open-s3.ts'

const credentials = { accessKeyId: 'key', secretAccessKey: 'secret', region: 'eu-1' }
const objects = new Map<string, { readonly bytes: Buffer; readonly mime: string | undefined }>()
let isBroken = false

/** A bucket on loopback that checks the signature of each request against the received bytes. */
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { method, url = '', headers } = request
  const body = Buffer.concat(chunks)
  const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? []
  const stamp = String(headers['x-amz-date'])
  const at = Date.parse(stamp.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z'))
  const given = Object.fromEntries(signed.map(name => [name, String(headers[name])]))
  const expected = await signS3Request(
    { method: method as 'GET', url: `http://${headers.host}${url}`, headers: given, body, signedAt: at },
    credentials,
  )
  const status = isBroken
    ? 500
    : expected.authorization === headers.authorization
      ? answer(method ?? '', url, body, headers['content-type'])
      : 403
  response.writeHead(status)
  response.end(status === 200 && method === 'GET' ? objects.get(url)?.bytes : undefined)
})

function answer(method: string, url: string, bytes: Buffer, mime: string | undefined): number {
  if (method === 'PUT') objects.set(url, { bytes, mime })
  if (method === 'DELETE') return objects.delete(url) ? 204 : 404
  return objects.has(url) ? 200 : 404
}

let fetch: ReturnType<typeof createGuardedFetch>
let endpoint = ''
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  fetch = createGuardedFetch({ userAgent: 'test', allowPrivate: [endpoint] })
})
afterAll(() => {
  fetch.close()
  server.close()
})

function open(secret_key = 'secret') {
  const config = { kind: 's3', endpoint, region: 'eu-1', bucket: 'files', access_key: 'key', secret_key } as const
  return openS3Bytes(config, { fetchFor: () => fetch, now: Date.now })
}

test('openS3Bytes() writes, reads and removes bytes under any key', async () => {
  const store = open()
  const key = 'agent-inputs/u/a b/ü(1)*.jpg'
  await store.write(key, Buffer.from('bytes'), 'image/jpeg')
  expect([...objects.keys()]).toEqual(['/files/agent-inputs/u/a%20b/%C3%BC%281%29%2A.jpg'])
  expect([...objects.values()][0]?.mime).toBe('image/jpeg')
  expect(Buffer.from((await store.read(key)) ?? []).toString()).toBe('bytes')
  await store.remove(key)
  expect(await store.read(key)).toBeUndefined()
  await store.remove(key)
})

test('openS3Bytes() throws Unavailable when the store refuses or fails', async () => {
  await expect(open('wrong').write('a', Buffer.from('b'), 'text/plain')).rejects.toThrow(
    new Unavailable('Cannot reach attachments: their store answered 403', { status: 403 }),
  )
  isBroken = true
  await expect(open().read('a')).rejects.toThrow('Cannot reach attachments: their store answered 500')
  isBroken = false
})
