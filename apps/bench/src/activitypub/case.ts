import type { BenchCase, Contender } from '../harness/case.ts'
import { describeGateway, gatewayHost } from '../ours/describe.ts'
import { formatCreateNote } from './create-note.ts'
import type { Fediverse } from './fediverse.ts'
import { openFediverse } from './fediverse.ts'
import type { Sender } from './senders.ts'
import { createSenders, formatPem } from './senders.ts'
import { signDelivery } from './sign-delivery.ts'
import { signMessageDelivery } from './sign-message.ts'

const agent = 'silent'
const addressee = { actorId: `https://${gatewayHost}/agents/${agent}`, handle: `@${agent}@${gatewayHost}` }
/** The other scheme of signing; draft-cavage-12 is what most still send. */
const rfc9421 = 'rfc9421'
const oursByMessage = 'Postern, RFC 9421'
const target = { host: gatewayHost, path: `/agents/${agent}/inbox` }

/** Verified deliveries accepted: a stranger's signed `Create`, from the socket to durable and through a silent agent. */
export async function openActivityPubCase(): Promise<BenchCase> {
  const senders = await createSenders(8)
  const fediverse = await openFediverse(senders)
  const keys = senders.map(({ keyId, publicKey }) => ({ keyId, publicKeyPem: formatPem(publicKey) }))
  let serial = 0
  const signOne = (variant: string | undefined): Promise<Uint8Array> => {
    const number = serial++
    const sender = senders[number % senders.length] as Sender
    const sign = variant === rfc9421 ? signMessageDelivery : signDelivery
    return sign(sender, target, formatCreateNote(sender, addressee, String(115_000_000_000 + number)))
  }
  return {
    name: 'activitypub',
    title: 'ActivityPub delivery',
    connections: 24,
    contenders: listContenders(fediverse.loopback, keys, fediverse.port),
    prepare: (count, variant) => Promise.all(Array.from({ length: count }, () => signOne(variant))),
    isAccepted: ({ status }) => status === 202,
    close: async () => fediverse.close(),
  }
}

function listContenders(loopback: Fediverse['loopback'], keys: unknown, fediversePort: number): readonly Contender[] {
  const floor = new URL('./floor.ts', import.meta.url)
  const fedify = {
    entry: new URL('./fedify.ts', import.meta.url),
    setup: { fediversePort, origin: `https://${gatewayHost}` },
    aim: 20,
  }
  return [
    {
      name: 'Postern',
      note: 'digest, RSA signature, actor and owner checked; durable on disk; a turn of a silent agent, committed',
      ...describeGateway({ network: { loopback } }),
    },
    {
      name: oursByMessage,
      note: 'the same activities, signed by RFC 9421 as Mastodon does it (RSA)',
      ...describeGateway({ network: { loopback } }),
      variant: rfc9421,
    },
    {
      name: 'Fedify 2.3.6',
      note: 'the same requests; keys cached; store in memory, no queue, an inbox listener that does nothing',
      ...fedify,
    },
    {
      name: 'Fedify 2.3.6, RFC 9421',
      note: 'the same with the requests that are signed by RFC 9421',
      ...fedify,
      variant: rfc9421,
      against: oursByMessage,
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
