import { createFixedSecret } from '@postern/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createUrlSigner, formatLocation, parseSignedUrl, readObjectLocation } from './signed-url.ts'

const origin = 'https://agents.test'
const secret = createFixedSecret(Buffer.from('a key of thirty-two bytes or more').toString('base64'))
const at = Date.parse('2026-03-13T10:00:00Z')

function openSigner() {
  let now = at
  const signer = createUrlSigner({ origin, secret, lifetimeMs: 60_000, now: () => now })
  return { signer, pass: (ms: number) => (now += ms) }
}

const segment = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter(text => !/[/\\\p{Cc}]/u.test(text) && text !== '.' && text !== '..' && text.isWellFormed())

describe('a signed URL', () => {
  it('leads to the same bucket and path, with any characters (C-08)', async () => {
    const { signer } = openSigner()
    const locations = fc.record({
      bucket: segment,
      path: fc.array(segment, { minLength: 1, maxLength: 4 }).map(s => s.join('/')),
    })
    const check = async (location: { bucket: string; path: string }) => {
      const { url } = await signer.sign(location)
      const parsed = parseSignedUrl(url)
      expect(parsed).toMatchObject({ origin, ...location })
      expect(parsed && (await signer.isValidToken(parsed, parsed.token))).toBe(true)
      expect(readObjectLocation(location.bucket, location.path)).toEqual(location)
    }
    await fc.assert(fc.asyncProperty(locations, check), { numRuns: 100 })
  })

  it('decodes an encoded slash to a slash (C-08)', () => {
    const location = parseSignedUrl(`${origin}/storage/v1/object/sign/b/x%2Fy%20z/%C3%BC.jpg?token=a.b.c`)
    expect(location).toMatchObject({ bucket: 'b', path: 'x/y z/ü.jpg' })
    expect(location && formatLocation(location)).toBe('b/x/y%20z/%C3%BC.jpg')
  })

  it.each([
    `${origin}/storage/v1/object/sign/b/../x?token=a.b.c`,
    `${origin}/storage/v1/object/sign/b/%2e%2e/x?token=a.b.c`,
    `${origin}/storage/v1/object/sign/b//x?token=a.b.c`,
    `${origin}/storage/v1/object/sign/b/x%00y?token=a.b.c`,
    `${origin}/storage/v1/object/sign/b/x%5Cy?token=a.b.c`,
    // Clients drop the tab when they fetch this address.
    `${origin}/storage/v1/object/sign/b/.\t./x?token=a.b.c`,
    `${origin}/storage/v1/object/sign/b/x%0Ay?token=a.b.c`,
    `${origin}/storage/v1/object/sign/b/%E0%A4%A?token=a.b.c`,
    `${origin}/storage/v1/object/sign/b?token=a.b.c`,
    `${origin}/storage/v1/object/sign/b/x`,
    `${origin}/storage/v1/object/public/b/x?token=a.b.c`,
    'ftp://agents.test/storage/v1/object/sign/b/x?token=a.b.c',
  ])('is invalid as %s (C-09)', url => {
    expect(parseSignedUrl(url)).toBeUndefined()
  })

  it('is invalid for another location, with another key, and after its expiry (C-06)', async () => {
    const { signer, pass } = openSigner()
    const location = { bucket: 'b', path: 'x' }
    const { url, expires_at } = await signer.sign(location)
    const token = parseSignedUrl(url)?.token ?? ''
    expect(expires_at).toBe('2026-03-13T10:01:00.000Z')
    for (const other of [
      { bucket: 'b', path: 'y' },
      { bucket: 'c', path: 'x' },
      { bucket: 'ab', path: 'x' },
      { bucket: 'b', path: 'a/x' },
      { bucket: 'a/b', path: 'x' },
    ])
      expect(await signer.isValidToken(other, token)).toBe(false)
    const other = createUrlSigner({
      origin,
      secret: createFixedSecret(Buffer.from('another key of thirty-two bytes..').toString('base64')),
      lifetimeMs: 1,
      now: () => at,
    })
    expect(await other.isValidToken(location, token)).toBe(false)
    pass(60_001)
    expect(await signer.isValidToken(location, token)).toBe(false)
  })
})
