// Makes a TLS handshake, and describes the certificate and the protocol.
import type { TLSSocket } from 'node:tls'
import { connect, getCACertificates } from 'node:tls'
import type { DoctorNetwork } from '../deps.ts'

export interface Handshake {
  /** The reason why a client does not trust the certificate, such as `CERT_HAS_EXPIRED`; undefined if it does. */
  readonly trustError: string | undefined
  /** The version of TLS, such as `TLSv1.3`. */
  readonly protocol: string
  /** The time at which the certificate expires, ms since 1970. */
  readonly validUntil: number
  /** The common name of the issuer. */
  readonly issuer: string
}

const handshakeTimeoutMs = 6_000
/** OpenSSL allows older protocols only at security level 0. */
const legacyOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const

/** Makes a handshake with a server by its public name, and accepts any certificate. @throws Error if the server has no TLS */
export async function shakeHands(
  host: string,
  { locate, authorities = [] }: Pick<DoctorNetwork, 'locate' | 'authorities'>,
  /** True to offer only obsolete protocols. */
  { isLegacy = false } = {},
): Promise<Handshake> {
  const ca = [...getCACertificates('default'), ...authorities]
  const names = { servername: host, rejectUnauthorized: false, ca }
  const socket = connect({ ...locate(host, 443), ...names, ...(isLegacy && legacyOptions) })
  try {
    await awaitSecureConnection(socket)
    return describeHandshake(socket)
  } finally {
    socket.destroy()
  }
}

export function awaitSecureConnection(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(handshakeTimeoutMs, () => socket.destroy(new Error('no answer in time')))
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed the connection')))
  })
}

export function describeHandshake(socket: TLSSocket): Handshake {
  const certificate = socket.getPeerCertificate()
  const { authorizationError: error } = socket
  const { CN = certificate.issuer?.O } = certificate.issuer ?? {}
  return {
    trustError: socket.authorized ? undefined : String((error as { code?: string } | null)?.code ?? error),
    protocol: socket.getProtocol() ?? '',
    validUntil: Date.parse(certificate.valid_to),
    issuer: [CN].flat()[0] ?? 'somebody without a name',
  }
}
