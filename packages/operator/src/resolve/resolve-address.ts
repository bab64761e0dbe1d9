// Resolves an address as a peer does, and judges every document that the peer finds.
import { formatAddress, Rejection } from '@postern/message'
import { z } from 'zod'
import { a2aRows } from './rows/a2a.ts'
import { actorRows } from './rows/actor.ts'
import { cardRows } from './rows/card.ts'
import { directoryRows } from './rows/directory.ts'
import { mailRows } from './rows/mail.ts'
import { pageRows } from './rows/page.ts'
import type { AddressCheck, ResolveFinding } from './rows/row.ts'
import { judgeAll, resolveFindingSchema } from './rows/row.ts'
import { webFingerRows } from './rows/webfinger.ts'
import { parseSpelledAddress } from './spelling.ts'
import type { PeerView } from './view/peer.ts'
import { findActorLink, findCardLink, findLink, pageRel, readPeerView } from './view/peer.ts'
import type { ResolveSystem } from './view/peer-fetch.ts'

/** The result of resolving an address, with its findings. */
export const resolvedAddressSchema = z
  .object({
    asked: z.string(),
    address: z.string().optional().describe('The normalized address; absent if the text is not an address.'),
    outcome: z
      .enum(['ok', 'faulty', 'unresolved'])
      .describe('`unresolved`: WebFinger does not know it; `faulty`: some peers cannot use it.'),
    found: z.record(z.string(), z.string()).describe('The addresses found, by name.'),
    findings: z.array(resolveFindingSchema).readonly(),
  })
  .meta({ id: 'ResolvedAddress' })

export type ResolvedAddress = Readonly<z.infer<typeof resolvedAddressSchema>>

const rows: readonly AddressCheck[] = [
  ...webFingerRows,
  ...cardRows,
  ...a2aRows,
  ...actorRows,
  ...mailRows,
  ...pageRows,
  ...directoryRows,
]

export async function resolveAddress(query: string, system: ResolveSystem): Promise<ResolvedAddress> {
  try {
    const address = parseSpelledAddress(query)
    const view = await readPeerView(address, system)
    const findings = judgeAll(rows, view)
    return {
      asked: query,
      address: formatAddress(address),
      outcome: judgeOutcome(view, findings),
      found: listUrls(view),
      findings,
    }
  } catch (error) {
    if (!(error instanceof Rejection)) throw error
    const fix = 'Write it as @name@domain.tld.'
    const refusal = { id: 'address.spelling', section: '§1.2', severity: 'error', message: error.message, fix } as const
    return { asked: query, outcome: 'unresolved', found: {}, findings: [refusal] }
  }
}

function judgeOutcome({ webfinger }: PeerView, findings: readonly ResolveFinding[]): ResolvedAddress['outcome'] {
  if (!webfinger.document) return 'unresolved'
  return findings.some(({ severity }) => severity === 'error') ? 'faulty' : 'ok'
}

function listUrls({ links, a2a, actor, mail }: PeerView): Readonly<Record<string, string>> {
  const urls = {
    actor: findActorLink(links)?.href,
    inbox: actor?.document?.inbox,
    agent_card: findCardLink(links)?.href,
    a2a: a2a?.agent.interface?.url,
    profile_page: findLink(links, pageRel)?.href,
    mail: mail?.address,
  }
  return Object.fromEntries(
    Object.entries(urls).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
