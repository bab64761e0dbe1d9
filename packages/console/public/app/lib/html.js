import htm from '../../vendor/htm.js'
import { h } from '../../vendor/preact.js'

/** Templates of the screens. Every value becomes text or an attribute; nothing is ever parsed as markup. */
export const html = htm.bind(h)
