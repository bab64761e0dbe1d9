// Chooses the members of a server's state that people see in the chat.
import type { Json, PartialResponse } from '@postern/message'
import { isJsonObject } from '@postern/message'
import { z } from 'zod'

/** LangGraph stores the whole conversation in this member, with calls, their arguments and results. */
const neverShown = 'messages'

const keySchema = z
  .string()
  .min(1)
  .refine(key => key !== neverShown, `cannot be "${neverShown}": those are the words and calls behind the answer`)

/** The setting for the shown members: `none`, a list of their names, or `all`. */
export const chatStateSchema = z.union([z.enum(['none', 'all']), z.array(keySchema).min(1)])

type Shown = z.output<typeof chatStateSchema>

/** Returns the members that the chat shows; undefined if the state has none of them. */
export function pickChatState(state: Json | undefined, shown: Shown): PartialResponse['chat_state'] {
  if (shown === 'none' || !isJsonObject(state)) return undefined
  const isShown = (name: string) => name !== neverShown && (shown === 'all' || shown.includes(name))
  const members = Object.entries(state).filter(([name]) => isShown(name))
  return members.length > 0 ? (Object.fromEntries(members) as PartialResponse['chat_state']) : undefined
}
