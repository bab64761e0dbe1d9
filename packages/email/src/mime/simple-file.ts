// Reads the plain files of a message, with the same results as mailparser.
import type { HeaderBlock } from '../mail/header.ts'
import { findField } from '../mail/header.ts'
import { decodeBase64Lines } from '../text/transfer-encoding.ts'
import type { Leaf, PartEntity } from './multipart.ts'

/** A field value with its parameters. */
const fieldPattern = /^([a-z]+(?:\/[a-z0-9.+-]+)?)((?:[ \t]*;[ \t]*[a-z-]+=(?:"[^"\\]*"|[\w.+:-]+))*)[ \t]*;?$/i

/**
 * The types of files that are read here. mailparser guesses the type of `application/octet-stream` from the name, and opens S/MIME.
 */
const fileTypePattern = /^(?:application|image|audio|video)\/(?!octet-stream$|(?:x-)?pkcs7-)/

/** The names that every program reads alike: ASCII without encoded words, paths, blanks at the ends, or S/MIME. */
const namePattern = /^(?!.*\.p7m$)\w(?:[\w .()+&,-]{0,200}[\w)])?$/i
const plainParamPattern = /^[\w .,:+-]{0,200}$/

const nameParams = { 'content-type': 'name', 'content-disposition': 'filename' } as const
const otherParams: ReadonlySet<string> = new Set([
  'x-unix-mode',
  'size',
  'creation-date',
  'modification-date',
  'read-date',
])

/** Reads a part that is a file in base64. It returns undefined for any other part. */
export function readSimpleFile({ octets, header, bodyEnd, isAlternative }: PartEntity): Leaf | undefined {
  if (!/^base64$/i.test(findField(header, 'content-transfer-encoding') ?? '')) return undefined
  const type = readNamedField(header, 'content-type')
  const disposition = readNamedField(header, 'content-disposition')
  if (!type || !fileTypePattern.test(type.value)) return undefined
  if (disposition ? !/^(?:attachment|inline)$/.test(disposition.value) : hasDisposition(header)) return undefined
  const [name, otherName = name] = [disposition?.name ?? type.name, type.name]
  const content = name === otherName ? decodeBase64Lines(octets.subarray(header.bodyStart, bodyEnd)) : undefined
  return content && { type: type.value, octets: content, charset: '', isAlternative, file: { name } }
}

function hasDisposition(header: HeaderBlock): boolean {
  return findField(header, 'content-disposition') !== undefined
}

/** Reads a field and its parameter for the name of the file. It returns undefined if the field has anything unusual. */
function readNamedField(header: HeaderBlock, fieldName: keyof typeof nameParams) {
  const match = fieldPattern.exec(findField(header, fieldName) ?? '')
  if (!match) return undefined
  const parameters = [...(match[2] ?? '').matchAll(/([a-z-]+)=(?:"([^"]*)"|([^\s;]+))/gi)]
  const values = new Map(parameters.map(([, name = '', quoted, token]) => [name.toLowerCase(), quoted ?? token ?? '']))
  const nameParam = nameParams[fieldName]
  const isPlain = [...values].every(([name, text]) =>
    name === nameParam ? namePattern.test(text) : otherParams.has(name) && plainParamPattern.test(text),
  )
  if (!isPlain || values.size !== parameters.length) return undefined
  return { value: (match[1] ?? '').toLowerCase(), name: values.get(nameParam) }
}
