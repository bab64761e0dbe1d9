import { hash, randomBytes } from 'node:crypto'
import { constants, setPriority } from 'node:os'
import { addressAgent, formatCreateNote } from '../activitypub/traffic.ts'
import { formatRequest, paceServer } from '../http/load.ts'
import { gatewayHost } from '../ours/open.ts'
import { serveMeasured } from '../servers/child.ts'
import { openSite } from '../servers/site.ts'

/** `ready` makes the requests, `go` sends them. */
export type FloodOrder =
  | { readonly step: 'ready'; readonly kind: FloodKind; readonly count: number }
  | { readonly step: 'go'; readonly port: number; readonly perSecond: number }

/** How many of each status came back, and how fast it really went. */
export interface Flooded {
  readonly perSecond: number
  readonly statuses: Readonly<Record<string, number>>
}

/** The attacker: the requests, and the hosts that its names point to, where nobody lives. */
await serveMeasured(async () => {
  // It shares a core with the honest client, whose latency is measured.
  setPriority(constants.priority.PRIORITY_LOW)
  const site = await openSite(new Map())
  let requests: readonly Uint8Array[] = []
  let answered = 0
  return {
    port: site.port,
    handled: () => answered,
    async work(given): Promise<Flooded | undefined> {
      const order = given as FloodOrder
      if (order.step === 'ready') {
        requests = Array.from({ length: order.count }, forge[order.kind])
        return undefined
      }
      const statuses: Record<string, number> = {}
      const isAccepted = ({ status }: { readonly status: number }) => {
        statuses[status] = (statuses[status] ?? 0) + 1
        // The gateway must let none of it in.
        return status >= 400
      }
      const { port, perSecond } = order
      const sent = await paceServer({ port, connections: 32, requests, isAccepted }, perSecond)
      answered += sent.accepted
      return { perSecond: sent.accepted / sent.seconds, statuses }
    },
  }
})

/** Hosts of the forgers; they exist, but none of their people does. */
export const forgedHosts: readonly string[] = Array.from({ length: 50 }, (_, index) => `forged-${index}.test`)

const agent = 'silent'
const path = `/agents/${agent}/inbox`
let serial = 0

export type FloodKind = 'unsigned' | 'forged'

/** A post like any other, only without a proof. */
function makeUnsigned(): Uint8Array {
  const { body, headers } = makePost()
  return formatRequest(path, headers, body)
}

/** All that can be checked without a key is right: time, digest, coverage, whose key it says to be. Each names another key. */
function makeForged(): Uint8Array {
  const { body, headers, actorId } = makePost()
  const names = '(request-target) host date digest content-type'
  const value = randomBytes(256).toString('base64')
  const signature = `keyId="${actorId}#main-key",algorithm="rsa-sha256",headers="${names}",signature="${value}"`
  return formatRequest(path, { ...headers, signature }, body)
}

export const forge: Readonly<Record<FloodKind, () => Uint8Array>> = { unsigned: makeUnsigned, forged: makeForged }

function makePost() {
  const number = serial++
  const host = forgedHosts[number % forgedHosts.length] ?? ''
  const actorId = `https://${host}/users/nobody-${process.pid}-${number}`
  const body = Buffer.from(formatCreateNote({ host, actorId }, addressAgent(agent), String(number)))
  const headers = {
    host: gatewayHost,
    date: new Date().toUTCString(),
    digest: `SHA-256=${hash('sha256', body, 'base64')}`,
    'content-type': 'application/activity+json',
    'user-agent': 'flood (bench)',
  }
  return { actorId, body, headers }
}
