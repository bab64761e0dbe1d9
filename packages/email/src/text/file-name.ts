const maxLength = 120
/** Device names of Windows; a file must not be called so, whatever its ending. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$/i

/** A safe name for a file on any system: no path, no control or direction characters, not too long, never empty. */
export function safeFileName(name: string | undefined, index: number): string {
  const last = (name ?? '')
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .split(/[/\\]/)
    .at(-1)
  const base = trimDots(last ?? '').replace(/[<>:"|?*]/g, '_')
  if (!base) return `attachment-${index + 1}`
  const short = shorten(base)
  return reserved.test(short) ? `_${short}` : short
}

/** A loop, because `/[.\s]+$/` costs quadratic time where many dots come before another character. */
function trimDots(name: string): string {
  let [start, end] = [0, name.length]
  while (start < end && isDotOrSpace(name[start])) start += 1
  while (end > start && isDotOrSpace(name[end - 1])) end -= 1
  return name.slice(start, end)
}

function isDotOrSpace(character = ''): boolean {
  return /[.\s]/.test(character)
}

/** Keeps the ending, which gives the type of the file. */
function shorten(name: string): string {
  const characters = [...name]
  if (characters.length <= maxLength) return name
  const dot = name.lastIndexOf('.')
  const ending = dot > 0 && name.length - dot <= 12 ? name.slice(dot) : ''
  return characters.slice(0, maxLength - ending.length).join('') + ending
}
