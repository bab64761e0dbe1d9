import type { Intake, KnownMessage, Part } from '@postern/core'
import { agentFlag, isoTime } from '@postern/core'
import type { ReplyTarget } from '../format/reply-target.ts'
import { toJson } from '../format/reply-target.ts'
import { activityPubDescriptor } from '../speaker.ts'
import type { ResolvedActivity } from './activity-kind.ts'
import { toSender } from './sender.ts'

/** The message for one agent. */
export interface IntakeDraft
  extends Pick<Intake, 'agent' | 'audience' | 'flags' | 'deliveries' | 'effects'>,
    Partial<Pick<Intake, 'disposition'>> {
  readonly kind: NonNullable<Intake['message']['kind']>
  readonly parts: readonly Part[]
  readonly thread_id: string
  readonly in_reply_to?: string | undefined
  readonly thread: Intake['thread']
  /** The object of the message: its IRI, or the IRI of the activity itself. */
  readonly object: string
  readonly target: ReplyTarget
  /** When its author published it, ms. */
  readonly sentAt?: number | undefined
  readonly language?: string | undefined
}

/** Pure. */
export function toIntake(resolved: ResolvedActivity, intakeDraft: IntakeDraft): Intake {
  const { activity, actor, proofs, bytes, arrival, receivedAt } = resolved.named
  const { agent, kind, parts, thread_id, in_reply_to, thread, object, target, language, ...rest } = intakeDraft
  const recipient = `@${agent}@${resolved.gateway.agents.domain}`
  return {
    agent,
    message: {
      id: activity.id,
      thread_id,
      ...(in_reply_to && { in_reply_to }),
      sender: toSender(resolved.named, recipient, language),
      recipient,
      parts: [...parts],
      recipient_capabilities: { mention_relay: activityPubDescriptor.mentionRelay },
      received_via: 'activitypub',
      received_at: isoTime(receivedAt),
      kind,
    },
    // The id lies on its actor's origin (it would not have been proven otherwise), so it carries the origin in itself.
    duplicateKey: activity.id,
    thread,
    aliases: object === activity.id ? [] : [object],
    authorship: { author: actor.id, object },
    proofs,
    arrival,
    raw: { bytes, form: 'json' },
    target: toJson(target),
    disposition: 'answer',
    quota: actor.isAutomated ? resolved.gateway.quotas.machines : resolved.gateway.quotas.people,
    ...rest,
    ...(actor.isAutomated && { flags: [...(rest.flags ?? []), agentFlag] }),
  }
}

/** Something that happened, in one sentence, and what it is about. */
export function tellEvent(sentence: string, about?: { readonly url: string; readonly title: string }): readonly Part[] {
  const said: Part = { kind: 'text', mime: 'text/plain', content: sentence }
  return about ? [said, { kind: 'link', ...about }] : [said]
}

/**
 * The target for an answer to an activity that is no post: its sender alone, as an answer to `object` if there is one.
 */
export function targetActor({ named: { actor, address } }: ResolvedActivity, object?: string): ReplyTarget {
  const { id, url, inbox, sharedInbox } = actor
  return { actor: id, address, url, inbox, sharedInbox, object, visibility: 'direct' }
}

/** In the thread of an earlier message. */
export function inThreadOf({ thread_id, scope }: Pick<KnownMessage, 'thread_id' | 'scope'>, reference: string) {
  return { thread_id, thread: { scope, references: [reference] } }
}

/** Between this actor and an agent, outside of any conversation. */
export function inThreadWith({ named: { actor } }: ResolvedActivity) {
  return { thread_id: actor.id, thread: { scope: actor.id, references: [] } }
}
