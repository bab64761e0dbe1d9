// Parses the names of people who chat, of their chats and of their addresses.
import { parseIfAddress, parseIfJson } from '@postern/message'
import type { ChannelDescriptor, SpeakerRules } from '@postern/pipeline'
import { z } from 'zod'
import { formatChatOwner } from './verify.ts'

const ownerSchema = z.tuple([z.string().min(1), z.string().min(1)])
const chatNameSchema = z.tuple([z.string(), z.string()])

/** Parses the owner's key of a person who chats, `web:["<issuer>","<subject>"]` with any spacing. Returns undefined for other text. */
export function readOwnerKey(text: string): string | undefined {
  const [, json = ''] = /^\s*web:\s*(\[.+\])\s*$/s.exec(text) ?? []
  const parsedNames = ownerSchema.safeParse(parseIfJson(json)).data
  return parsedNames && formatChatOwner(...parsedNames)
}

/** Returns the agent and thread of a chat, from `["agent","thread"]`. */
export function readChatKey(key: string): { readonly agent: string; readonly threadId: string } | undefined {
  const parsedNames = chatNameSchema.safeParse(parseIfJson(key)).data
  return parsedNames && { agent: parsedNames[0], threadId: parsedNames[1] }
}

/** The rules for people who chat. The issuer of their token names them; their hosts are `web.<domain>` and the hosts below it. */
const speaker: SpeakerRules = {
  assurance: 'oauth',
  identify: (_, { issuer, subject }) => formatChatOwner(issuer, subject),
  readAddress(text, domain) {
    if (domain === undefined) return undefined
    const address = parseIfAddress(text)
    return address && `.${address.domain}`.endsWith(`.web.${domain}`) ? { address } : undefined
  },
  isChat: true,
  readOwner: readOwnerKey,
}

export const webDescriptor = {
  name: 'web',
  authMethods: ['a2a-jwt', 'a2a-oauth'],
  mentionRelay: { kind: 'none' },
  answersCalls: true,
  streamsAnswers: true,
  isSimulated: true,
  alias: 'chat',
  // A page that was closed over a weekend sends its run again.
  repeatsForMs: 3 * 24 * 3_600_000,
  addressesFiles: true,
  isReadAsPreview: true,
  speaker,
} as const satisfies ChannelDescriptor
