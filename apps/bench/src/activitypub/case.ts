// Defines the bench case for ActivityPub: verified deliveries into an inbox, by two signature schemes.
import { rows } from '../aims/rows.ts'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { describeBenchGateway, gatewayHost } from '../ours/open.ts'
import type { Fediverse } from './fediverse.ts'
import { formatPem } from './fediverse.ts'
import { isAccepted202, openTraffic } from './traffic.ts'

/** The second signing scheme; most servers still send draft-cavage-12. */
const rfc9421 = 'rfc9421'
const posternRfc9421Name = 'Postern, RFC 9421'

/** Opens the case of verified deliveries: a stranger's signed `Create`, from the socket to its durable record and through a silent agent. */
export async function openActivityPubCase(): Promise<BenchCase> {
  const { senders, fediverse, prepare } = await openTraffic({ agent: 'silent', senders: 8 })
  const keys = senders.map(({ keyId, publicKey }) => ({ keyId, publicKeyPem: formatPem(publicKey) }))
  return {
    name: 'activitypub',
    title: 'ActivityPub delivery',
    connections: 24,
    contenders: listContenders(fediverse, keys),
    prepare: (count, variant) => prepare(count, variant === rfc9421 ? 'rfc9421' : 'cavage'),
    isExpected: isAccepted202,
    close: async () => fediverse.close(),
  }
}

function listContenders({ loopback, port }: Fediverse, keys: unknown): readonly Contender[] {
  const fedify = {
    entry: new URL('./fedify.ts', import.meta.url),
    setup: { fediversePort: port, origin: `https://${gatewayHost}` },
  }
  return [
    {
      name: 'Postern',
      note: 'digest, RSA signature, actor and owner checked; durable on disk; a turn of a silent agent, committed',
      ...describeBenchGateway({ network: { loopback } }),
    },
    {
      name: posternRfc9421Name,
      note: 'the same activities, signed by RFC 9421 as Mastodon does it (RSA)',
      ...describeBenchGateway({ network: { loopback } }),
      variant: rfc9421,
    },
    {
      name: 'Fedify 2.3.6',
      note: 'the same requests; keys cached; store in memory, no queue, an inbox listener that does nothing',
      ...fedify,
      ...rows.deliveryAgainstFedify,
    },
    {
      name: 'Fedify 2.3.6, RFC 9421',
      note: 'the same with the requests that are signed by RFC 9421',
      ...fedify,
      variant: rfc9421,
      referenceName: posternRfc9421Name,
      aim: rows.deliveryAgainstFedify.aim,
    },
    {
      name: 'floor: bare Hono',
      note: 'digest, RSA signature with the key at hand, one SQLite insert; one durable commit for all that arrive together; nothing else',
      entry: new URL('./floor.ts', import.meta.url),
      setup: { keys },
      ...rows.deliveryAgainstFloor,
    },
  ]
}
