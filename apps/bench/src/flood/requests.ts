// Generates the posts of an attacker: unsigned, or with a forged signature.
import { randomBytes } from 'node:crypto'
import { formatDigestField } from '../activitypub/sign-delivery.ts'
import { addressAgent, formatCreateNote } from '../activitypub/traffic.ts'
import { formatRequest } from '../http/message.ts'
import { gatewayHost } from '../ours/open.ts'

/** The hosts of the forgers. The hosts exist, but their people do not. */
export const forgedHosts: readonly string[] = Array.from({ length: 50 }, (_, index) => `forged-${index}.test`)

const agent = 'silent'
const path = `/agents/${agent}/inbox`
let serial = 0

export type FloodKind = 'unsigned' | 'forged'

/** Makes an ordinary post without a proof. */
function makeUnsigned(): Uint8Array {
  const { body, headers } = makePost()
  return formatRequest(path, headers, body)
}

/** Makes a post whose time, digest, coverage and key owner are right: everything that can be checked without a key. Each post names another key. */
function makeForged(): Uint8Array {
  const { body, headers, actorId } = makePost()
  const names = '(request-target) host date digest content-type'
  const value = randomBytes(256).toString('base64')
  const signature = `keyId="${actorId}#main-key",algorithm="rsa-sha256",headers="${names}",signature="${value}"`
  return formatRequest(path, { ...headers, signature }, body)
}

export const makeFloodRequest: Readonly<Record<FloodKind, () => Uint8Array>> = {
  unsigned: makeUnsigned,
  forged: makeForged,
}

function makePost() {
  const sequenceNumber = serial++
  const host = forgedHosts[sequenceNumber % forgedHosts.length] ?? ''
  const actorId = `https://${host}/users/nobody-${process.pid}-${sequenceNumber}`
  const body = Buffer.from(formatCreateNote({ host, actorId }, addressAgent(agent), String(sequenceNumber)))
  const headers = {
    host: gatewayHost,
    date: new Date().toUTCString(),
    digest: formatDigestField(body),
    'content-type': 'application/activity+json',
    'user-agent': 'flood (bench)',
  }
  return { actorId, body, headers }
}
