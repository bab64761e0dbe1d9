// Plans the deliveries of a response: its author and the people it mentions.
import type { ShowRequirement } from '@postern/message'
import type { Addressing, AnsweredTurn } from '@postern/pipeline'
import { postIri } from '../format/own-iris.ts'
import type { Rendering } from '../format/post-data.ts'
import { readReplyTarget, toStoredJson } from '../format/targets.ts'
import { chooseReplyVisibility, isReadableByEveryone } from '../format/visibility.ts'
import { countMentionChars } from '../text/mention.ts'
import { countAllowedTextMentions, listOwnAddresses, selectMentions } from '../text/select-mentions.ts'
import { listPostAliases, listReplyDestinations, planPieceDeliveries } from './destinations.ts'
import { countPieces } from './pieces.ts'
import { presentPost } from './present-post.ts'

export interface AddressDeps {
  readonly origin: string
  /** Returns the longest post that the server of an inbox shows, in visible characters. */
  findPostLimitChars(inbox: string | undefined): number
  readonly showRequirement?: ShowRequirement | undefined
  /** The most people that one response may mention. */
  readonly maxMentions: number
}

/** Plans the deliveries of a response to the author's inbox and to everyone it mentions. It is pure. */
export function addressAnswer(
  { turn, response }: AnsweredTurn,
  { origin, findPostLimitChars, showRequirement, maxMentions }: AddressDeps,
): Addressing {
  const reply = readReplyTarget(turn.target)
  const visibility = chooseReplyVisibility(reply.visibility, response.visibility)
  const isListed = isReadableByEveryone(visibility)
  const { agent_chain: chain } = turn.content.recipient_capabilities
  const maxTextMentions = countAllowedTextMentions(visibility, chain, maxMentions)
  const presentedResponse = presentPost(response, turn.content, { visibility }, showRequirement)
  const ownAddresses = listOwnAddresses(turn.agent, turn.content.recipient, origin)
  const mentions = selectMentions(
    presentedResponse,
    { callable: maxTextMentions },
    { ownAddresses, author: reply.address },
  )
  const leadingMentions = [{ name: reply.address ?? '' }, ...mentions.chosenMentions.map(name => ({ name }))]
  const limitChars = Math.max(minPostTextChars, findPostLimitChars(reply.inbox) - countMentionChars(leadingMentions))
  const pieces = countPieces(presentedResponse.parts, limitChars)
  const rendering: Rendering = {
    reply,
    visibility,
    pieces,
    ...(pieces > 1 && { limit: limitChars }),
    ...(maxTextMentions > 0 && { callable: maxTextMentions }),
  }
  return {
    deliveries: planPieceDeliveries(pieces, listReplyDestinations(reply, mentions, { isPublic: isListed })),
    aliases: listPostAliases(postIri(origin, turn.agent, response.id), pieces),
    isListed,
    rendering: toStoredJson(rendering),
  }
}

/** The fewest characters for text in a post, regardless of the number of people whom the response mentions. */
export const minPostTextChars = 100
