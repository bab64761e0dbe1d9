// Recognizes the lines that programs add in the name of their owner, such as "Sent from my iPhone".
import { escapePhrase, listPhrases } from './phrase-table.ts'
import { readVisibleLine } from './quoted-line.ts'

const maxLineChars = 160
/** Matches the line, with a program or device in the place of the sign. */
const phrases = listPhrases('device').toSorted((one, other) => other.length - one.length)
const frames = phrases.map(phrase => {
  const [prefix = '', suffix = ''] = phrase.split('#')
  return `${escapePhrase(prefix)}(.{2,80}?)${escapePhrase(suffix)}`
})
const framedPhrase = new RegExp(`^(?:${frames.join('|')})$`, 'iu')

/** Matches names of programs and devices. In some languages an ending follows, or a name is part of a longer word. */
const deviceNames =
  /(?<!\p{L})(?:alcatel|cell|i(?:phon|pad|pod)\p{L}{0,6}|android|samsung|galaxy|huawei|honor|xiaomi|redmi|oppo|realme|oneplus|pixel|nokia|lumia|moto|motorola|sony|xperia|htc|lg|blackberry|outlook|hotmail|yahoo|gmail|aol|gmx|web\.de|freenet|t-online|proton|tuta|tutanota|posteo|fastmail|thunderbird|k-9|bluemail|edison|spark|airmail|newton|polymail|superhuman|mailbird|mailspring|em client|zoho|yandex|яндекс|mail\.ru|rambler|windows|surface|apple|mac|verizon|vodafone|telekom|orange|sfr|libero|virgilio|tiscali|laposte|typeapp|canary|hey|unibox|mailmate|boxer|ti-8\d|mail|e-?mail|mobile?|phone|smartphone|tablet|handy|mobilgerät|mobiltelefon|telefono|teléfono|téléphone|telefon|telefoon|celular|móvil|смартфон|телефон|планшет|(?:携帯|(?:小米|红米|华为|華為|荣耀|三星)?(?:手机|手機)|小米|红米|华为|華為|荣耀|三星)(?!\p{Script=Han})|스마트폰)(?![^\p{L}\p{N}]*[.:])/iu
/** Matches words between the names. All other words begin with a capital or a digit, or are in a script without capitals. */
const connectingWord =
  /^(?:a|an|the|my|for|appareil|dispositivo|gerät|toestel|enhed|enhet|laite|zařízení|urządzeni\p{L}{1,3}|eszköz\p{L}{0,4}|устройств\p{L}|on|with|using|via|and|app|application|mail|e-?mail|mobile?\p{L}{0,2}|phone|smartphone|tablet|device|handset|wireless|für|mit|der|dem|den|mein\p{L}{0,2}|von|pour|mon|ma|sur|avec|téléphone|para|desde|mi|con|el|la|de|do|da|meu|no|na|per|il|mio|dal|su|voor|mijn|op|met|för|min|til|for|na|pro|pre|dla|systemu|program|aplikac\p{L}{1,4}|telefon\p{L}{0,4}|için|cihaz\p{L}{0,4}|του|το|για|μου|на|для|з|с|моего|мого|pentru|pe|meu|saya|untuk|của|cho|uygulama\p{L}{0,4}|aplicación|aplicativo|applicazione|secure|free|мобильно\p{L}{1,2}|моя|tôi|ของฉัน|שלי|iOS-?\p{L}{0,3})$/iu
const nameStart = /^[^\p{Ll}\p{P}]|^["'’„“(<-]|^i(?:Phon|Pad|Pod|OS)/u
const maxWords = 10

/** A line, and whether it is directly below other text. */
interface AddedLine {
  readonly line: string
  readonly isBelowText: boolean
}

/**
 * Returns true if a program added the line. Such a line consists of a program's phrase and of names only. A person's sentence continues with other
 * words, or continues the line above.
 */
export function isDeviceLine({ line, isBelowText }: AddedLine): boolean {
  if (line.length > maxLineChars) return false
  const text = stripLinks(line).replace(/^[\s(<[*_]+|[\s)>\]*_.!]+$/gu, '')
  if (isBelowText && /^\p{Ll}/u.test(text)) return false
  const match = framedPhrase.exec(readVisibleLine(text))
  const device = match?.slice(1).find(group => group !== undefined)
  return device !== undefined && isDevice(device)
}

/** Matches the addresses that a program gives with its name, as text or Markdown. */
function stripLinks(line: string): string {
  return line
    .replace(/\[([^[\]]{1,80})\]\(?[^()\s]{0,120}\)?/g, '$1')
    .replace(/\s?[<(]?https?:\/\/[^\s<>()]{1,140}[>)]?/g, '')
}

function isDevice(text: string): boolean {
  const words = text.trim().split(/[\s,‑]+/)
  if (words.length > maxWords || !deviceNames.test(text)) return false
  return words.every(word => nameStart.test(word) || connectingWord.test(word) || deviceNames.test(word))
}
