// Chooses the members of a server's state that people see in the chat.
import type { Json, PartialResponse } from '@postern/message'
import { isJsonObject } from '@postern/message'
import { z } from 'zod'

/** LangGraph stores the whole conversation in this member, with calls, their arguments and results. */
const hiddenMember = 'messages'

const keySchema = z
  .string()
  .min(1)
  .refine(
    key => key !== hiddenMember,
    `cannot be "${hiddenMember}": that member holds the whole conversation, including tool calls`,
  )

/** The setting for the shown members: `none`, a list of their names, or `all`. */
export const chatStateSchema = z.union([z.enum(['none', 'all']), z.array(keySchema).min(1)])

type ChatStateSetting = z.output<typeof chatStateSchema>

/** Returns the members that the chat shows; undefined if the state has none of them. */
export function pickChatState(state: Json | undefined, setting: ChatStateSetting): PartialResponse['chat_state'] {
  if (setting === 'none' || !isJsonObject(state)) return undefined
  const isVisible = (name: string) => name !== hiddenMember && (setting === 'all' || setting.includes(name))
  const members = Object.entries(state).filter(([name]) => isVisible(name))
  return members.length > 0 ? (Object.fromEntries(members) as PartialResponse['chat_state']) : undefined
}
