import type { Part } from '@postern/core'
import { findWebAddress } from '../format/iri.ts'
import type { JsonObject } from '../format/reading.ts'
import { asObject, listOf, textOf } from '../format/reading.ts'
import { cleanDescription, cleanName } from '../format/text-hygiene.ts'
import { readHref } from '../peers/remote-actor.ts'

/**
 * The attachments of a post, and then its picture (`image`: Lemmy, WordPress, Bridgy Fed), as files and links. Each
 * address counts once. Nothing is fetched.
 */
export function readAttached({ attachment, image }: JsonObject): readonly Part[] {
  const pictures = listOf(image).map(value => (typeof value === 'string' ? { url: value } : value))
  const attached = listOf(attachment).flatMap(readAttachment)
  const known = new Set(attached.map(addressOf))
  return [...attached, ...pictures.flatMap(readAttachment).filter(part => !known.has(addressOf(part)))]
}

const fileName = /^[\w.()-]{1,120}\.[a-z0-9]{2,5}$/i

type Attached = Extract<Part, { kind: 'link' | 'file' }>

function addressOf(part: Attached): string | undefined {
  if (part.kind === 'link') return part.url
  return part.bytes_ref.kind === 'url' ? part.bytes_ref.url : undefined
}

function readAttachment(value: unknown): readonly Attached[] {
  const json = asObject(value)
  const url = findWebAddress(readHref(json?.href ?? listOf(json?.url)[0]))
  if (!json || !url) return []
  if (json.type === 'Link' || json.type === 'Page') return [readLink(json, url)]
  const mime = textOf(json.mediaType)
  return [{ kind: 'file', ...readLabel(json), ...(mime && { mime }), bytes_ref: { kind: 'url', url } }]
}

/**
 * Servers describe the picture in `name`, GoToSocial in `summary`. Pleroma writes the file's name into `name` when
 * there is no description.
 */
function readLabel(json: JsonObject): { readonly name?: string; readonly description?: string } {
  const label = textOf(json.name) ?? textOf(json.summary)
  if (label && fileName.test(label)) return { name: label }
  const description = cleanDescription(label)
  return description ? { description } : {}
}

function readLink(json: JsonObject, url: string): Attached {
  const title = cleanName(textOf(json.name))
  return { kind: 'link', url, ...(title && { title }) }
}
