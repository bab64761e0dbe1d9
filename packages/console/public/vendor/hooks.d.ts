export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
