import { createServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createGuardedFetch } from '../../src/fetch/guarded-fetch.ts'
import { makeCertificate } from '../certificate.ts'
import type { TestListener } from '../listener.ts'
import { listenOn } from '../listener.ts'

const trusted = makeCertificate('peer.internal')
const stranger = makeCertificate('peer.internal')
const usual = getCACertificates('default')
let server: TestListener
let impostor: TestListener

beforeAll(async () => {
  setDefaultCACertificates([trusted.cert])
  const listenTls = (pair: typeof trusted) =>
    listenOn(
      createServer(pair, ({ socket, headers }, response) => {
        response.end(`${(socket as TLSSocket & { servername?: string }).servername} ${headers.host}`)
      }),
      [],
    )
  server = await listenTls(trusted)
  impostor = await listenTls(stranger)
})

afterAll(async () => {
  setDefaultCACertificates(usual)
  await Promise.all([server.close(), impostor.close()])
})

async function fetchOnce(origin: string): Promise<string> {
  const fetch = createGuardedFetch({ userAgent: 'x', allowPrivate: [origin], lookup: async () => ['127.0.0.1'] })
  try {
    return Buffer.from((await fetch(`${origin}/`)).body).toString()
  } finally {
    fetch.close()
  }
}

const badCertificate = expect.objectContaining({
  name: 'Unavailable',
  message: 'Cannot fetch: certificate is not valid',
})

test('createGuardedFetch() connects to the checked address with the name for TLS and Host', async () => {
  const host = `peer.internal:${server.port}`
  expect(await fetchOnce(`https://${host}`)).toBe(`peer.internal ${host}`)
})

test('createGuardedFetch() refuses a certificate for another name', async () => {
  await expect(fetchOnce(`https://other.internal:${server.port}`)).rejects.toThrow(badCertificate)
})

test('createGuardedFetch() refuses a certificate without a known authority, in any environment', async () => {
  vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  try {
    await expect(fetchOnce(`https://peer.internal:${impostor.port}`)).rejects.toThrow(badCertificate)
  } finally {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  }
})
