import { A2aRejection } from '../format/errors.ts'
import type { WirePart } from '../format/wire.ts'
import { mediaTypeOf } from './read-parts.ts'

/**
 * Every part must be of a media type the card declares.
 * @throws A2aRejection `contentTypeNotSupported`
 */
export function checkInputModes(parts: readonly WirePart[], declared: readonly string[]): void {
  const at = parts.findIndex(part => !declared.includes(mediaTypeOf(part)))
  if (at < 0) return
  const violations = [{ field: `message.parts[${at}].mediaType`, description: 'is not an input mode of this agent' }]
  const message = `Cannot SendMessage: message.parts[${at}] is of a media type this agent does not take`
  throw new A2aRejection('contentTypeNotSupported', message, { violations })
}

/** The client must accept one of our output modes; without any it accepts all. @throws A2aRejection `contentTypeNotSupported` */
export function checkOutputModes(accepted: readonly string[], declared: readonly string[]): void {
  if (accepted.length === 0 || accepted.some(mode => isOffered(mode, declared))) return
  const description = 'names none of the output modes of this agent'
  const violations = [{ field: 'configuration.acceptedOutputModes', description }]
  throw new A2aRejection('contentTypeNotSupported', `Cannot SendMessage: acceptedOutputModes ${description}`, {
    violations,
  })
}

function isOffered(mode: string, declared: readonly string[]): boolean {
  const [type = ''] = mode.toLowerCase().split(';')
  // Older clients write `text` for every text type.
  const wanted = /^\s*\w+\s*$/.test(type) ? `${type.trim()}/*` : type.trim()
  if (wanted === '*/*') return true
  return wanted.endsWith('/*') ? declared.some(own => own.startsWith(wanted.slice(0, -1))) : declared.includes(wanted)
}
