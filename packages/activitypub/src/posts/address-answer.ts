// Plans the deliveries of a response: its author and the people it mentions.
import type { ShowRequirement } from '@postern/message'
import type { Addressing, AnsweredTurn } from '@postern/pipeline'
import { postIri } from '../format/own-iris.ts'
import type { Rendering } from '../format/post-data.ts'
import { readReplyTarget, toJson } from '../format/targets.ts'
import { isOpen, replyVisibility } from '../format/visibility.ts'
import { countCallable, findCalled, ownNames } from '../text/called-people.ts'
import { mentionLength } from '../text/mention.ts'
import { addressPieces, aliasesOf, replyDestinations } from './destinations.ts'
import { countPieces } from './pieces.ts'
import { presentPost } from './present-post.ts'

export interface AddressDeps {
  readonly origin: string
  /** Returns the longest post that the server of an inbox shows, in visible characters. */
  postLimitOf(inbox: string | undefined): number
  readonly showRequirement?: ShowRequirement | undefined
  /** The most people that one response may mention. */
  readonly maxMentions: number
}

/** Plans the deliveries of a response to the author's inbox and to everyone it mentions. It is pure. */
export function addressAnswer(
  { turn, response }: AnsweredTurn,
  { origin, postLimitOf, showRequirement, maxMentions }: AddressDeps,
): Addressing {
  const reply = readReplyTarget(turn.target)
  const visibility = replyVisibility(reply.visibility, response.visibility)
  const isListed = isOpen(visibility)
  const { agent_chain: chain } = turn.content.recipient_capabilities
  const callable = countCallable(visibility, chain, maxMentions)
  const shown = presentPost(response, turn.content, { visibility }, showRequirement)
  const own = ownNames(turn.agent, turn.content.recipient, origin)
  const called = findCalled(shown, { callable }, { own, author: reply.address })
  const before = [{ name: reply.address ?? '' }, ...called.chosen.map(name => ({ name }))]
  const limit = Math.max(shortest, postLimitOf(reply.inbox) - mentionLength(before))
  const pieces = countPieces(shown.parts, limit)
  const rendering: Rendering = {
    reply,
    visibility,
    pieces,
    ...(pieces > 1 && { limit }),
    ...(callable > 0 && { callable }),
  }
  return {
    deliveries: addressPieces(pieces, replyDestinations(reply, called, isListed)),
    aliases: aliasesOf(postIri(origin, turn.agent, response.id), pieces),
    isListed,
    rendering: toJson(rendering),
  }
}

/** The fewest characters for text in a post, regardless of the number of people whom the response mentions. */
export const shortest = 100
