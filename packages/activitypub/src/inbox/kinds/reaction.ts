// Handles reactions to an agent's post: `Like`, `EmojiReact` and `Announce`.
import type { JsonObject } from '../../format/json-object.ts'
import { idOf, textOf } from '../../format/json-object.ts'
import { toSingleLine } from '../../html/read-note.ts'
import { createActorTarget, createEventParts, joinThread, toIntake } from '../../normalize.ts'
import type { ActivityKind, ResolvedActivity } from '../activity-kind.ts'
import { findOwnPost } from '../activity-kind.ts'

/** Creates the handler for reactions to a post of this gateway. The post is found by its id. An embedded copy of it is never read. */
function createReactionKind(describe: (json: JsonObject) => string): ActivityKind {
  return {
    async find({ activity, actor }, lookups) {
      const object = idOf(activity.json.object)
      const post = object && (await findOwnPost(object, actor.id, lookups))
      return post ? { post } : undefined
    },
    toIntakes: resolved => toReactionIntake(resolved, describe(resolved.proven.activity.json)),
  }
}

function toReactionIntake(resolved: ResolvedActivity, sentence: string) {
  const { post, proven } = resolved
  if (!post) return []
  return [
    toIntake(resolved, {
      agent: post.agent,
      kind: 'reaction',
      parts: createEventParts(sentence, { url: post.id, title: 'Post' }),
      in_reply_to: post.id,
      ...joinThread(post, post.id),
      object: proven.activity.id,
      target: { ...createActorTarget(resolved, post.id), event: proven.activity.type },
    }),
  ]
}

/** Handles a `Like`. Misskey and its forks put an emoji into it. */
export const like = createReactionKind(json => {
  const emoji = readEmoji(json)
  return emoji ? `Reacted to the post with ${emoji}` : 'Liked the post'
})

export const emojiReact = createReactionKind(json => `Reacted to the post with ${readEmoji(json) ?? 'an emoji'}`)

export const announce = createReactionKind(() => 'Boosted the post')

const maxEmojiChars = 64

function readEmoji({ content, _misskey_reaction }: JsonObject): string | undefined {
  const emoji = toSingleLine(textOf(content) ?? textOf(_misskey_reaction))
  return emoji && emoji.length <= maxEmojiChars ? emoji : undefined
}
