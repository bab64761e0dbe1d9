import type { ChannelDescriptor, SpeakerRules } from '@postern/core'
import { parseIfAddress, parseIfJson } from '@postern/core'
import { z } from 'zod'
import { formatChatOwner } from './verify.ts'

const ownerSchema = z.tuple([z.string().min(1), z.string().min(1)])
const chatNameSchema = z.tuple([z.string(), z.string()])

/** The key of all that is somebody's who chats, from `web:["<issuer>","<subject>"]` in whatever spacing; undefined for anything else. */
export function readOwnerKey(text: string): string | undefined {
  const [, json = ''] = /^\s*web:\s*(\[.+\])\s*$/s.exec(text) ?? []
  const named = ownerSchema.safeParse(parseIfJson(json)).data
  return named && formatChatOwner(...named)
}

/** Agent and thread of a chat, from `["agent","thread"]`. */
export function readChatKey(key: string): { readonly agent: string; readonly threadId: string } | undefined {
  const named = chatNameSchema.safeParse(parseIfJson(key)).data
  return named && { agent: named[0], threadId: named[1] }
}

/** Whoever chats is who the issuer of the token says; hosts of those who chat are `web.<domain>` and what is below. */
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
  speaker,
} as const satisfies ChannelDescriptor
