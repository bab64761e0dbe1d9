// Lists installations for the doctor's checks of TLS.
import { createServer } from 'node:tls'
import { makeCertificate } from '@postern/http/test-certificate'
import { openDoctorBench, ownHost, serve } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'

const ownCertificate = makeCertificate(ownHost)

interface TlsPlan {
  readonly certificate?: { readonly key: string; readonly cert: string }
  /** True if the server also accepts obsolete versions of TLS. */
  readonly isOld?: boolean
  readonly now?: () => number
}

export async function examineTls(
  id: string,
  { certificate = ownCertificate, isOld = false, now = Date.now }: TlsPlan = {},
) {
  const old = { minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  const server = createServer({ ...certificate, ...(isOld && old) }, socket => socket.end())
  server.on('tlsClientError', () => undefined)
  const ports = { [`${ownHost}:443`]: await serve(server) }
  return examine(id, openDoctorBench({ ports, network: { authorities: [ownCertificate.cert] }, deps: { now } }))
}

export const tlsCases: Cases = {
  'tls.chain': {
    failingCase: {
      runCheck: () => examineTls('tls.chain', { certificate: makeCertificate(ownHost) }),
      expectedDetail: /peers do not trust the certificate of agents\.test: it is self-signed/,
    },
    passingCase: { runCheck: () => examineTls('tls.chain'), expectedDetail: 'its chain is complete' },
  },
  'tls.expiry': {
    failingCase: {
      runCheck: () => examineTls('tls.expiry', { now: () => Date.parse('2048-12-22T12:00:00Z') }),
      expectedDetail: 'expires in 9 days',
    },
    passingCase: {
      runCheck: () => examineTls('tls.expiry', { now: () => Date.parse('2048-12-01T12:00:00Z') }),
      expectedDetail: 'expires in 30 days',
    },
  },
  'tls.versions': {
    failingCase: { runCheck: () => examineTls('tls.versions', { isOld: true }), expectedDetail: 'still speaks TLSv1' },
    passingCase: { runCheck: () => examineTls('tls.versions'), expectedDetail: 'speaks TLSv1.3, and nothing older' },
  },
}
