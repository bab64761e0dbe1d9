// Makes file names safe on every system, for incoming and outgoing files.
import type { Part } from '../part.ts'

/** The maximum length of a name, in characters and in bytes of UTF-8. File systems allow 255 (ext4, APFS, NTFS in UTF-16 code units). */
const nameLimits = { characters: 120, bytes: 240 } as const

/** Matches the names of Windows devices, with any extension and with blanks before it (as `os.path.isreserved` of Python does). */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)/i

/**
 * Returns a safe name for a file on any system: no path, drive or device, no control, format or direction characters, no
 * dots or blanks at its ends, at most 120 characters, and never empty. `index` numbers a file without a name, from 0.
 */
export function safeFileName(name: string | undefined, index: number): string {
  const visibleName = (name ?? '')
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, '')
  const base = trimDots(visibleName.split(/[/\\]/).at(-1) ?? '').replace(/[<>:"|?*]/g, '_')
  if (!base) return `attachment-${index + 1}`
  const shortName = shorten(base)
  return deviceName.test(shortName) ? `_${shortName}` : shortName
}

/** Returns parts whose files and artifacts have safe names; one without a name gets none. */
export function withSafeFileNames(parts: readonly Part[]): readonly Part[] {
  return parts.map((part, index) => {
    if ((part.kind !== 'file' && part.kind !== 'artifact') || part.name === undefined) return part
    const name = safeFileName(part.name, index)
    return name === part.name ? part : { ...part, name }
  })
}

/** Removes dots and white space from both ends. It is a loop, because `/[.\s]+$/` takes quadratic time if many dots precede another character. */
function trimDots(name: string): string {
  let [start, end] = [0, name.length]
  while (start < end && isDotOrSpace(name[start])) start += 1
  while (end > start && isDotOrSpace(name[end - 1])) end -= 1
  return name.slice(start, end)
}

function isDotOrSpace(character = ''): boolean {
  return /[.\s]/.test(character)
}

/** Shortens a name, but keeps the extension, which shows the type of the file. */
function shorten(name: string): string {
  const characters = [...name]
  if (characters.length <= nameLimits.characters && Buffer.byteLength(name) <= nameLimits.bytes) return name
  const dot = name.lastIndexOf('.')
  const ending = dot > 0 && name.length - dot <= 12 ? name.slice(dot) : ''
  const stem = characters.slice(0, nameLimits.characters - [...ending].length)
  let bytes = Buffer.byteLength(stem.join('') + ending)
  while (bytes > nameLimits.bytes) bytes -= Buffer.byteLength(stem.pop() ?? '')
  return trimDots(stem.join('')) + ending
}
