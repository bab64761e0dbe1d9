import { parseJsonText } from '@postern/core'
import { formatChatOwner } from '@postern/web'
import { z } from 'zod'

const ownerSchema = z.tuple([z.string().min(1), z.string().min(1)])

/** The key of all that is somebody's who chats, from `web:["<issuer>","<subject>"]` in whatever spacing; undefined for anything else. */
export function readOwnerKey(text: string): string | undefined {
  const [, json = ''] = /^\s*web:\s*(\[.+\])\s*$/s.exec(text) ?? []
  const named = ownerSchema.safeParse(parseIfJson(json)).data
  return named && formatChatOwner(...named)
}

/** Undefined for what is no JSON. */
export function parseIfJson(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}
