import { createHash } from 'node:crypto'
import { toProblem } from '@postern/http'
import type { GuardedFetch, Part } from '@postern/message'
import { Undeliverable } from '@postern/message'
import type { Blob } from '@postern/pipeline'
import { createFixedSecret } from '@postern/testing'
import { describe, expect, test } from 'vitest'
import type { PublishedAttachmentsOptions } from './attachments.ts'
import { createPublishedAttachments } from './attachments.ts'

const origin = 'https://agents.test'
const dayMs = 24 * 3_600_000
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function openAttachments(...files: readonly (readonly [text: string, mime?: string | undefined])[]) {
  const blobs: readonly Blob[] = files.map(([text, mime]) => {
    const bytes = new TextEncoder().encode(text)
    return { digest: digestOf(bytes), bytes, mime }
  })
  let time = Date.UTC(2026, 5, 1, 12)
  let localAddress: string | undefined
  const attachments = createPublishedAttachments({
    store: {
      findBlob: async (digest: string) => blobs.find(blob => blob.digest === digest),
    } as PublishedAttachmentsOptions['store'],
    origin,
    secret: createFixedSecret('key of the tests'),
    fetch: (async () => ({ status: 404, body: new Uint8Array() })) as unknown as GuardedFetch,
    now: () => time,
    findLocalAddress: () => localAddress,
  })
  attachments.routes.onError(error => toProblem(error))
  const fetchFrom = (url: string) => attachments.routes.request(url.slice(origin.length))
  const advance = (ms: number) => {
    time += ms
  }
  const setLocalAddress = (address: string) => {
    localAddress = address
  }
  return { attachments, setLocalAddress, digests: blobs.map(({ digest }) => digest), fetchFrom, advance }
}

describe('storeFiles()', () => {
  test('stores the bytes of files and artifacts under their digests', () => {
    const { attachments } = openAttachments()
    const bytes = Buffer.from('picture')
    const ref = { kind: 'inline', data_base64: bytes.toString('base64') } as const
    const link: Part = { kind: 'link', url: 'https://peer.test/' }
    const remoteFile: Part = { kind: 'file', bytes_ref: { kind: 'url', url: 'https://peer.test/a.png' } }
    const { parts, blobs } = attachments.storeFiles([
      link,
      { kind: 'file', name: 'a.png', mime: 'image/png', bytes_ref: ref },
      remoteFile,
    ])
    const digest = digestOf(bytes)
    const stored = { kind: 'content_addressed', algo: 'sha256', digest }
    expect(parts).toEqual([
      link,
      { kind: 'file', name: 'a.png', mime: 'image/png', size: 7, bytes_ref: stored },
      remoteFile,
    ])
    expect(blobs).toEqual([{ digest, bytes, mime: 'image/png' }])
  })
})

describe('a URL of stored bytes', () => {
  test('has a local host for agents when the origin leads elsewhere, and the origin for peers', () => {
    const { attachments, digests, setLocalAddress } = openAttachments(['picture', 'image/png'])
    const [digest = ''] = digests
    setLocalAddress('http://127.0.0.1:8787')
    const stored: Part = { kind: 'file', bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } }
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:8787\/attachments\//)
    expect(attachments.presentParts([stored])).toMatchObject([{ bytes_ref: { url } }])
    const peerUrl = expect.stringMatching(/^https:\/\/agents\.test\/attachments\//)
    expect(attachments.presentParts([stored], 'peer')).toMatchObject([{ bytes_ref: { url: peerUrl } }])
  })

  test('serves the bytes as a download, never as a page of our origin', async () => {
    const { attachments, digests, fetchFrom } = openAttachments(['<script>', 'text/html'])
    const response = await fetchFrom(attachments.fileAddress(digests[0] ?? ''))
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('<script>')
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    })
  })

  test.each(['image/png', 'image/jpeg', 'video/mp4', 'audio/mpeg'])('keeps the media type %s', async mime => {
    const { attachments, digests, fetchFrom } = openAttachments(['media', mime])
    const response = await fetchFrom(attachments.fileAddress(digests[0] ?? ''))
    expect(response.headers.get('content-type')).toBe(mime)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test.each([
    'image/svg+xml',
    'text/html; charset=utf-8',
    'application/xhtml+xml',
    'application/pdf',
    'IMAGE/PNG\r\nx: y',
    undefined,
  ])('does not keep the media type %s', async mime => {
    const { attachments, digests, fetchFrom } = openAttachments(['anything', mime])
    const response = await fetchFrom(attachments.fileAddress(digests[0] ?? ''))
    expect(response.headers.get('content-type')).toBe('application/octet-stream')
  })

  test('stays the same for a day, and works for a year', async () => {
    const { attachments, digests, fetchFrom, advance } = openAttachments(['media', 'image/png'])
    const [digest = ''] = digests
    const address = attachments.fileAddress(digest)
    advance(dayMs / 2 - 1)
    expect(attachments.fileAddress(digest)).toBe(address)
    advance(365 * dayMs)
    expect((await fetchFrom(address)).status).toBe(200)
    advance(3 * dayMs)
    const response = await fetchFrom(address)
    expect(await response.json()).toMatchObject({
      status: 403,
      code: 'forbidden',
      detail: 'Cannot read attachment: the token has expired',
    })
  })

  test('works for a day if an agent received it', async () => {
    const { attachments, digests, fetchFrom, advance } = openAttachments(['media'])
    const [digest = ''] = digests
    const ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
    const [part] = attachments.presentParts([{ kind: 'file', bytes_ref: ref }])
    const url = part?.kind === 'file' && 'url' in part.bytes_ref ? (part.bytes_ref.url ?? '') : ''
    advance(dayMs)
    expect((await fetchFrom(url)).status).toBe(200)
    advance(1)
    expect((await fetchFrom(url)).status).toBe(403)
  })

  test('has a token that is valid only for these bytes and this time', async () => {
    const { attachments, digests, fetchFrom } = openAttachments(['one'], ['two'])
    const [one = '', two = ''] = digests
    const address = attachments.fileAddress(one)
    const [, token = ''] = address.split('?token=')
    const [expires = '', signature = ''] = token.split('.')
    const forgedUrls = [
      address.replace(one, two),
      address.replace(expires, String(Number(expires) + 1)),
      address.replace(expires, `${expires}0`),
      address.replace(signature, ''),
      address.replace(signature, `${signature}A`),
      address.replace(token, ''),
      address.replace(`?token=${token}`, ''),
      address.replace(expires, 'NaN'),
    ]
    for (const url of forgedUrls) {
      const response = await fetchFrom(url)
      expect(await response.json(), url).toMatchObject({
        status: 403,
        code: 'forbidden',
        detail: 'Cannot read attachment: the token is not valid',
      })
    }
  })

  test('answers 404 for deleted bytes', async () => {
    const { attachments, fetchFrom } = openAttachments()
    const response = await fetchFrom(attachments.fileAddress('ab'.repeat(32)))
    expect(response.status).toBe(404)
  })
})

describe('readAttachment()', () => {
  const signal = new AbortController().signal
  test('reads bytes from every kind of location', async () => {
    const { attachments, digests } = openAttachments(['kept'])
    const inline = { kind: 'inline', data_base64: 'YQ==' } as const
    const ref = { kind: 'content_addressed', algo: 'sha256', digest: digests[0] ?? '' } as const
    const read = async (bytes_ref: typeof inline | typeof ref) =>
      Buffer.from((await attachments.readAttachment({ kind: 'file', name: 'n', bytes_ref }, signal)).bytes).toString()
    expect([await read(inline), await read(ref)]).toEqual(['a', 'kept'])
  })

  test('reports the reason why bytes are not available', async () => {
    const { attachments } = openAttachments()
    const url = { kind: 'url', url: 'https://peer.test/a.png' } as const
    const reading = attachments.readAttachment({ kind: 'file', bytes_ref: url }, signal)
    await expect(reading).rejects.toThrow(new Undeliverable('Cannot fetch attachment: its host answered 404'))
  })

  test('returns only bytes that match their digest (MN-4.1)', async () => {
    const attachments = createPublishedAttachments({
      store: { findBlob: async () => undefined } as unknown as PublishedAttachmentsOptions['store'],
      origin,
      secret: createFixedSecret('key of the tests'),
      fetch: (async () => ({ status: 200, body: new TextEncoder().encode('theirs') })) as unknown as GuardedFetch,
      now: () => 0,
    })
    const read = (text: string) => {
      const digest = digestOf(new TextEncoder().encode(text))
      const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest, url: 'https://peer.test/a' } as const
      return attachments.readAttachment({ kind: 'file', bytes_ref }, signal)
    }
    expect(Buffer.from((await read('theirs')).bytes).toString()).toBe('theirs')
    await expect(read('promised')).rejects.toThrow(
      new Undeliverable('Cannot fetch attachment: its bytes do not match the digest'),
    )
  })
})
