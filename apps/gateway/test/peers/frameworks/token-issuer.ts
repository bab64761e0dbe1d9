// Issues tokens that our gateway accepts.
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { ourOrigin, ports, pythonOrigin } from '../names.ts'

/** An issuer whose tokens the gateway accepts. */
interface ExamIssuer {
  /** An entry of `a2a.auth.issuers`. */
  readonly config: object
  /** Signs a token for one subject that is valid for an hour. */
  sign(subject: string): string
  close(): void
}

/** Opens an issuer that serves its keys behind the TLS terminator. */
export async function openExamIssuer(): Promise<ExamIssuer> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keys = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'peers', alg: 'ES256' }] })
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(keys)
  })
  server.listen(ports.python, '127.0.0.1')
  await once(server, 'listening')
  return {
    config: { issuer: pythonOrigin, jwks: `${pythonOrigin}/keys`, audience: ourOrigin },
    sign(subject) {
      const iat = Math.floor(Date.now() / 1_000)
      const times = { iat, nbf: iat, exp: iat + 3_600 }
      const claims = { iss: pythonOrigin, aud: ourOrigin, sub: subject, jti: randomUUID(), ...times }
      const signedText = [{ alg: 'ES256', kid: 'peers' }, claims].map(encode).join('.')
      const signature = sign('sha256', Buffer.from(signedText), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      return `${signedText}.${signature.toString('base64url')}`
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
