import type { BenchCase, Contender } from '../harness/case.ts'
import { describeGateway, gatewayHost } from '../ours/describe.ts'
import { formatCreateNote } from './create-note.ts'
import { openFediverse } from './fediverse.ts'
import type { Sender } from './senders.ts'
import { createSenders } from './senders.ts'
import { signDelivery } from './sign-delivery.ts'

const agent = 'silent'
const addressee = { actorId: `https://${gatewayHost}/agents/${agent}`, handle: `@${agent}@${gatewayHost}` }
const target = { host: gatewayHost, path: `/agents/${agent}/inbox` }

/** Verified deliveries accepted: a stranger's signed `Create`, from the socket to durable and through a silent agent. */
export async function openActivityPubCase(): Promise<BenchCase> {
  const senders = await createSenders(8)
  const fediverse = await openFediverse(senders)
  const loopback = Object.fromEntries(senders.map(({ host }) => [host, fediverse.port]))
  const keys = senders.map(({ keyId, publicKeyPem }) => ({ keyId, publicKeyPem }))
  let serial = 0
  const signOne = (): Promise<Uint8Array> => {
    const number = serial++
    const sender = senders[number % senders.length] as Sender
    return signDelivery(sender, target, formatCreateNote(sender, addressee, String(115_000_000_000 + number)))
  }
  return {
    name: 'activitypub',
    title: 'ActivityPub delivery',
    connections: 24,
    contenders: listContenders(loopback, keys, fediverse.port),
    prepare: count => Promise.all(Array.from({ length: count }, signOne)),
    isAccepted: ({ status }) => status === 202,
    close: async () => fediverse.close(),
  }
}

function listContenders(loopback: Record<string, number>, keys: unknown, fediversePort: number): readonly Contender[] {
  const floor = new URL('./floor.ts', import.meta.url)
  return [
    {
      name: 'Postern',
      note: 'digest, RSA signature, actor and owner checked; durable on disk; a turn of a silent agent, committed',
      ...describeGateway({ network: { loopback } }),
    },
    {
      name: 'Fedify 2.3.6',
      note: 'the same requests; keys cached; store in memory, no queue, an inbox listener that does nothing',
      entry: new URL('./fedify.ts', import.meta.url),
      setup: { fediversePort, origin: `https://${gatewayHost}` },
      aim: 20,
    },
    {
      name: 'floor: bare Hono',
      note: 'digest, RSA signature with the key at hand, one durable SQLite insert a request; nothing else',
      entry: floor,
      setup: { keys, groupCommit: false },
      aim: 0.6,
    },
    {
      name: 'floor, group commit',
      note: 'the same, with one durable commit for all inserts that arrive together (information)',
      entry: floor,
      setup: { keys, groupCommit: true },
    },
  ]
}
