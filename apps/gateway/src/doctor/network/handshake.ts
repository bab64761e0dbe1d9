import type { TLSSocket } from 'node:tls'
import { connect, getCACertificates } from 'node:tls'
import type { Outside } from '../deps.ts'

export interface Handshake {
  /** Why a client does not believe the certificate: `CERT_HAS_EXPIRED`, … */
  readonly fault: string | undefined
  /** `TLSv1.3` */
  readonly protocol: string
  /** ms */
  readonly validUntil: number
  /** Common name of who has issued it. */
  readonly issuer: string
}

const patienceMs = 6_000
/** OpenSSL itself refuses older protocols unless it is told that their security does not matter. */
const legacy = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const

/** Shakes hands with a server by its public name, and judges nothing. @throws Error when it does not, or has no certificate */
export async function shakeHands(
  host: string,
  { locate, authorities = [] }: Pick<Outside, 'locate' | 'authorities'>,
  /** `isLegacy`: only by protocols that nobody should take any more. */
  { isLegacy = false } = {},
): Promise<Handshake> {
  const ca = [...getCACertificates('default'), ...authorities]
  const names = { servername: host, rejectUnauthorized: false, ca }
  const socket = connect({ ...locate(host, 443), ...names, ...(isLegacy && legacy) })
  try {
    await untilSecure(socket)
    return describeHandshake(socket)
  } finally {
    socket.destroy()
  }
}

export function untilSecure(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(patienceMs, () => socket.destroy(new Error('no answer in time')))
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('it hangs up')))
  })
}

export function describeHandshake(socket: TLSSocket): Handshake {
  const certificate = socket.getPeerCertificate()
  const { authorizationError: fault } = socket
  const { CN = certificate.issuer?.O } = certificate.issuer ?? {}
  return {
    fault: socket.authorized ? undefined : String((fault as { code?: string } | null)?.code ?? fault),
    protocol: socket.getProtocol() ?? '',
    validUntil: Date.parse(certificate.valid_to),
    issuer: [CN].flat()[0] ?? 'somebody without a name',
  }
}
