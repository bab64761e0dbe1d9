import { formatAddress, Rejection } from '@postern/core'
import { a2aRows } from './rows/a2a.ts'
import { actorRows } from './rows/actor.ts'
import { cardRows } from './rows/card.ts'
import { mailRows } from './rows/mail.ts'
import type { ResolveFinding, Row } from './rows/row.ts'
import { judgeAll } from './rows/row.ts'
import { surfaceRows } from './rows/surface.ts'
import { webFingerRows } from './rows/webfinger.ts'
import { readAskedAddress } from './spelling.ts'
import type { PeerView } from './view/peer.ts'
import { findActorLink, findCardLink, findLink, lookAtPeer, pageRel } from './view/peer.ts'
import type { ResolvePlatform } from './view/platform.ts'

/** What a peer finds behind an address, and what is wrong with it. */
export interface ResolvedAddress {
  readonly asked: string
  /** In its one form; absent when it is no address. */
  readonly address?: string
  /** `unresolved`: nothing is known of it; `faulty`: peers of this or that kind fail with it. */
  readonly outcome: 'ok' | 'faulty' | 'unresolved'
  readonly found: Readonly<Record<string, string>>
  readonly findings: readonly ResolveFinding[]
}

const rows: readonly Row[] = [...webFingerRows, ...cardRows, ...a2aRows, ...actorRows, ...mailRows, ...surfaceRows]

export async function resolveAddress(asked: string, platform: ResolvePlatform): Promise<ResolvedAddress> {
  try {
    const address = readAskedAddress(asked)
    const view = await lookAtPeer(address, platform)
    const findings = judgeAll(rows, view)
    return {
      asked,
      address: formatAddress(address),
      outcome: judgeOutcome(view, findings),
      found: listFound(view),
      findings,
    }
  } catch (error) {
    if (!(error instanceof Rejection)) throw error
    const fix = 'Write it as @name@domain.tld.'
    const refused = { id: 'address.spelling', section: '§1.2', severity: 'error', message: error.message, fix } as const
    return { asked, outcome: 'unresolved', found: {}, findings: [refused] }
  }
}

function judgeOutcome({ webfinger }: PeerView, findings: readonly ResolveFinding[]): ResolvedAddress['outcome'] {
  if (!webfinger.document) return 'unresolved'
  return findings.some(({ severity }) => severity === 'error') ? 'faulty' : 'ok'
}

function listFound({ links, a2a, actor, mail }: PeerView): Readonly<Record<string, string>> {
  const found = {
    actor: findActorLink(links)?.href,
    inbox: actor?.document?.inbox,
    agent_card: findCardLink(links)?.href,
    a2a: a2a?.agent.interface?.url,
    profile_page: findLink(links, pageRel)?.href,
    mail: mail?.address,
  }
  return Object.fromEntries(
    Object.entries(found).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
